// What every page that shows a motion needs: the picture, strip plots, and the player.
@picture.js@
@curves.js@
@strips.js@
@player.js@
