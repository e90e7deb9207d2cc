import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The process that sends logs. What goes wrong in it is what goes wrong here. */
export function openSender() {
  const child = fork(fileURLToPath(new URL('./log-sender.mjs', import.meta.url)), { execArgv: [] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const ask = (type, options = {}) =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('The sender ended; what it said is above.'))
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
