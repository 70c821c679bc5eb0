-- podfs: reports what is listened to, and continues where you stopped. See podfs-listening(7).
-- Another program than podfs in PATH: --script-opts=podfs-program=/path/to/podfs

local utils = require "mp.utils"
local options = {program = "podfs"}
require("mp.options").read_options(options, "podfs")

local file          -- the path, while an episode of a mount is played
local position = 0  -- the last known position
local jumping = false
local queue, busy = {}, false

local function arguments(phase, at)
    local list = {
        options.program, "player", "report", "--player", "mpv", "--process", tostring(utils.getpid()),
        "--phase", phase, "--position", string.format("%.3f", math.max(0, at)),
        "--rate", string.format("%.3f", mp.get_property_number("speed", 1)),
    }
    local duration = mp.get_property_number("duration", 0)
    if duration > 0 then
        list[#list + 1] = "--duration"
        list[#list + 1] = string.format("%.3f", duration)
    end
    list[#list + 1] = "--"
    list[#list + 1] = file
    return list
end

local function send()
    if busy or #queue == 0 then return end
    busy = true
    local job = table.remove(queue, 1)
    mp.command_native_async(
        {name = "subprocess", args = job.args, playback_only = false, capture_stdout = true, capture_stderr = true},
        function(success, result)
            busy = false
            if job.done then job.done(success and result or {status = -1, stdout = ""}) end
            send()
        end)
end

local function report(phase, at, done)
    if not file then return end
    -- If reports are slower than the player, only the newest are needed.
    if #queue >= 20 then table.remove(queue, 1) end
    queue[#queue + 1] = {args = arguments(phase, at), done = done}
    send()
end

local timer = mp.add_periodic_timer(10, function()
    if file and not mp.get_property_bool("pause") then report("playing", position) end
end)
timer:kill()

mp.register_event("file-loaded", function()
    local path = mp.get_property("path", "")
    if path == "" or path:find("^%a[%w+.-]*://") then return end
    local opened = utils.join_path(mp.get_property("working-directory", ""), path)
    file = opened
    position = mp.get_property_number("time-pos", 0)
    jumping = false
    report("started", position, function(result)
        if file ~= opened then return end
        if result.status == 1 then  -- not an episode of a mount
            file = nil
            timer:kill()
            return
        end
        local target = tonumber(result.stdout or "")
        if target and position < 5 then mp.commandv("seek", tostring(target), "absolute+exact") end
    end)
    if mp.get_property_bool("pause") then report("paused", position) end
    timer:kill()
    timer:resume()
end)

mp.observe_property("time-pos", "number", function(_, value)
    if value and not jumping then position = value end
end)

mp.observe_property("pause", "bool", function(_, paused)
    if paused then report("paused", mp.get_property_number("time-pos", position)) else report("playing", position) end
end)

mp.register_event("seek", function() jumping = true end)

mp.register_event("playback-restart", function()
    if not jumping then return end
    jumping = false
    local target = mp.get_property_number("time-pos", position)
    if math.abs(target - position) < 1 then return end
    if file and not mp.get_property_bool("pause") then report("playing", position) end
    position = target
    report("seeked", position)
    -- Restarts the timer, so that the stored position is never more than ten seconds old.
    if file then
        timer:kill()
        timer:resume()
    end
end)

-- Runs before the file is closed. mpv may exit right afterwards, so the last report runs in a detached process.
mp.add_hook("on_unload", 50, function()
    if not file then return end
    local args = arguments("stopped", mp.get_property_number("time-pos", position))
    file, queue = nil, {}
    timer:kill()
    mp.command_native({name = "subprocess", args = args, playback_only = false, detach = true})
end)
