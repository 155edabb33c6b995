--[[
Have Slurm take the nodes that give a job the shortest step: a job_submit plugin.

In slurm.conf: JobSubmitPlugins=lua; this file lies beside it. A job says what it does in its
comment, and names no nodes itself:

    sbatch --comment 'interlace:{"nodes": 8, "compute_us": 80000, "gradient_bytes": 2000000000}' ...

The rest of the request is a file that slurm_state.py keeps up to date beside slurmctld, as a plugin
must not ask Slurm itself. The job gets its nodes (req_nodes, min_nodes, max_nodes), and its comment
says them in the order of ranks ("on"), which Slurm does not keep; INTERLACE_NODES has the same in
the environment of a batch job:

    tr ' ' '\n' <<<"$INTERLACE_NODES" >hosts.txt
    SLURM_HOSTFILE=hosts.txt srun --distribution=arbitrary --ntasks-per-node=1 python train.py

Without a state or an answer within WAIT_S the job is submitted as it is. slurmctld waits for the
answer, so WAIT_S is short. Nodes are not held: a job that comes before may take them, and this one
then waits for them.
]]

local SERVICE = os.getenv("INTERLACE_SERVICE") or "http://127.0.0.1:8000"
local STATE = os.getenv("INTERLACE_STATE") or "/run/interlace/state.json"
local WAIT_S = os.getenv("INTERLACE_WAIT_S") or "2"
local MARK = "interlace:"

local function content(path)
  local file = io.open(path, "rb")
  if file == nil then
    return nil
  end
  local text = file:read("a")
  file:close()
  return text
end

-- Nothing that a user wrote comes into a command: the request is a file.
local function answer_to(body)
  local path = os.tmpname()
  local file = io.open(path, "wb")
  file:write(body)
  file:close()
  local command = string.format(
    "curl --silent --show-error --fail --noproxy '*' --max-time %s "
      .. "--header 'Content-Type: application/json' --data-binary @%s %s/v1/allocations",
    WAIT_S, path, SERVICE)
  local pipe = io.popen(command, "r")
  local text = pipe:read("a")
  pipe:close()
  os.remove(path)
  return text
end

-- The first list of nodes of an answer is that of the best set.
local function nodes_of(answer)
  local list = answer:match('"best":%[{.-"nodes":%[(.-)%]')
  local nodes = {}
  for name in (list or ""):gmatch('"([%w%-%._]+)"') do
    nodes[#nodes + 1] = name
  end
  return nodes
end

local function place(job)
  local told = job.comment
  if told == nil or told:sub(1, #MARK) ~= MARK or (job.req_nodes or "") ~= "" then
    return
  end
  local own = told:sub(#MARK + 1)
  local state = content(STATE)
  local head = state and state:match("^%s*{(.*)}%s*$")
  if head == nil then
    slurm.log_info("interlace: no state in %s, submitted without nodes", STATE)
    return
  end
  local nodes = nodes_of(answer_to(string.format('{"job":%s,%s}', own, head)))
  if #nodes == 0 then
    slurm.log_info("interlace: no answer, submitted without nodes")
    return
  end
  job.req_nodes = table.concat(nodes, ",")
  job.min_nodes, job.max_nodes = #nodes, #nodes
  local on = string.format(',"on":["%s"]}', table.concat(nodes, '","'))
  job.comment = MARK .. own:gsub("}%s*$", function() return on end)
  if job.environment ~= nil then
    job.environment["INTERLACE_NODES"] = table.concat(nodes, " ")
  end
  slurm.log_info("interlace: nodes %s", job.req_nodes)
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local ok, why = pcall(place, job_desc)
  if not ok then -- nothing keeps a job from being submitted
    slurm.log_info("interlace: %s", tostring(why))
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
