import { fork } from 'node:child_process'

/** A process that does one thing after the other, as it is asked. What goes wrong in it is what goes wrong here. */
export function openHelper(file) {
  const child = fork(file, { execArgv: [] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const ask = (type, options = {}) =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('The process ended; what it said is above.'))
      child.once('exit', onExit)
      child.once('message', (answer) => {
        child.off('exit', onExit)
        resolve(answer)
      })
      child.send({ type, ...options }, (error) => error && reject(error))
    })
  const close = async () => {
    child.kill()
    await ended
  }
  return { ask, close }
}

/** The process that sends logs. */
export function openSender() {
  return openHelper(new URL('./log-sender.mjs', import.meta.url))
}
