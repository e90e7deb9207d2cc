// The engine's process ends itself with SIGKILL. box64 keeps translations only of processes that exit. `process.exit` would wait
// for the thread of the server, which does not end.
const { DataType, load, open } = require('ffi-rs')

open({ library: 'c', path: 'libc.so.6' })

function exitNow(code) {
  load({
    library: 'c',
    funcName: '_exit',
    retType: DataType.Void,
    paramsType: [DataType.I32],
    paramsValue: [code],
  })
}

const { kill } = process
process.kill = (pid, signal) =>
  pid === process.pid && signal === 'SIGKILL' ? exitNow(0) : kill.call(process, pid, signal)

module.exports = { exitNow }
