-- torch.bernoulli(p): here the shape comes first.
local tempo = require "tempo"
print(tempo.bernoulli(0.3)) -- here
