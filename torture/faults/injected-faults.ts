import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

/** Returns what is missing to inject faults into system calls. */
export function needsForStrace(): string | undefined {
  const found = spawnSync('strace', ['-e', 'inject=fsync:delay_enter=1', 'true'], { encoding: 'utf8' })
  if (found.error) return 'needs strace (Debian: apt-get install strace)'
  return found.status === 0 ? undefined : `needs permission to trace processes: ${found.stderr.trim()}`
}

/** Makes syncs of a process fail or wait until `stop`, which returns how many were injected. */
export async function injectFaults(pid: number, how: string): Promise<{ stop(): Promise<number> }> {
  const calls = 'fsync,fdatasync'
  const tracer = spawn(
    'strace',
    ['-f', '-p', String(pid), '-e', `trace=${calls}`, '-e', `inject=${calls}:${how}`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let injected = 0
  let text = ''
  const attached = new Promise<void>((resolve, reject) => {
    tracer.once('exit', () => reject(new Error(`strace ended: ${text.slice(0, 1000)}`)))
    tracer.stderr.on('data', (chunk) => {
      text = (text + chunk).slice(-20_000)
      if (text.includes('attached')) resolve()
      injected += String(chunk).split('(INJECTED)').length - 1
    })
  })
  await attached
  return {
    stop: async () => {
      const exited = tracer.exitCode === null && tracer.signalCode === null ? once(tracer, 'exit') : undefined
      tracer.kill('SIGINT')
      await exited
      return injected
    },
  }
}
