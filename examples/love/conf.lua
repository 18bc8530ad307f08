-- Window, and where tempo is: in this tree, unless it is installed.
function love.conf(t)
  t.identity, t.version = "tempo_cartpole", "11.4"
  t.window.title, t.window.width, t.window.height = "A pole that learns while you push it", 800, 480
  t.modules.physics, t.modules.joystick, t.modules.audio = false, false, false
  local root = love.filesystem.getSource() .. "/../../"
  package.path = root .. "lua/?.lua;" .. root .. "lua/?/init.lua;" .. package.path
  package.cpath = root .. "build/5.1/?.so;" .. package.cpath
end
