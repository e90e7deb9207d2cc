import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export interface ServiceProcess {
  child: ChildProcess
  /** Output so far. */
  stderr(): string
  stdout(): string
  /** Waits until the service is ready and returns its URL. */
  ready(withinMs?: number): Promise<string>
  exit: Promise<number | null>
}

/** Starts `wellhead serve` in a separate process. */
export function spawnService(
  args: string[],
  environment: Record<string, string> = {},
  { command = [process.execPath, main, 'serve'], cwd = process.cwd(), detached = false } = {},
): ServiceProcess {
  const [executable, ...before] = command as [string, ...string[]]
  const child = spawn(executable, [...before, ...args], {
    cwd,
    detached,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  let stdout = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  return {
    child,
    stderr: () => stderr,
    stdout: () => stdout,
    ready: (withinMs = 120_000) =>
      vi.waitFor(
        () => {
          const url = /listening on (http:\S+)/.exec(stderr)?.[1]
          if (url === undefined) throw new Error(`The service is not ready: ${stderr} ${stdout}`)
          return url
        },
        { timeout: withinMs, interval: 50 },
      ),
    exit: once(child, 'close').then(([code]) => code as number | null),
  }
}

/** Ids of the child processes, from `/proc`. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map(Number)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Files of dist that processes with NODE_V8_COVERAGE loaded, if they have ended by themselves. */
export function loadedFiles(coverage: string): string[] {
  const reports = readdirSync(coverage).map((file) => readFileSync(join(coverage, file), 'utf8'))
  const loaded = reports.flatMap((text) => (JSON.parse(text) as { result: { url: string }[] }).result)
  return loaded.flatMap(({ url }) => /dist\/([\w-]+)\.js$/.exec(url)?.[1] ?? [])
}
