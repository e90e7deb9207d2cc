/** The packed service as a process of its own, as an operator runs it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { atTheEnd } from './at-the-end.mjs'

export const mainFile = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export async function startServiceProcess(dataDir, environment) {
  const since = performance.now()
  const service = spawn(process.execPath, [mainFile, 'serve', '--port', '0', '--data-dir', dataDir], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = atTheEnd(() => service.kill('SIGKILL'))
  const url = await addressOf(service)
  await until(async () => (await fetch(`${url}/ready`)).ok)
  const readyMs = performance.now() - since
  const stop = async () => {
    service.removeAllListeners('exit').kill('SIGTERM')
    await once(service, 'exit')
    kill()
  }
  return { pid: service.pid, url, readyMs, stop }
}

function addressOf(service) {
  return new Promise((resolve, reject) => {
    let said = ''
    service.stderr.on('data', (text) => {
      said += text
      const url = /listening on (http:\S+)/.exec(said)?.[1]
      if (url) resolve(url)
    })
    service.once('exit', () => reject(new Error(`The service ended early: ${said}`)))
  })
}

export async function until(condition) {
  while (!(await condition())) await delay(10)
}
