// The engine's process ends with SIGKILL. box64 keeps translations only of processes that exit.
const { kill } = process
process.kill = (pid, signal) =>
  pid === process.pid && signal === 'SIGKILL' ? process.exit() : kill.call(process, pid, signal)
