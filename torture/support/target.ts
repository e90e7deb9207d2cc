import { join } from 'node:path'
import { childrenOf, isAlive, type ServiceProcess, spawnService } from '../../test/support/service-process.ts'
import { enginePatience, patienceMs } from './patience.ts'
import type { Shared } from './scenario.ts'

export interface TargetOptions {
  dataDir: string
  environment?: Record<string, string>
}

export const adminToken = 'a-token-for-the-torture-of-a-service'

/** A service in a process of its own, which can be killed and started again while others talk to it. */
export class Target implements Shared {
  readonly #options: TargetOptions
  #process: ServiceProcess
  #url: Promise<string>
  #callersWait: ((url: Promise<string>) => void) | undefined

  constructor(options: TargetOptions) {
    this.#options = options
    this.#process = this.#spawn()
    this.#url = this.#ready()
  }

  #spawn(): ServiceProcess {
    return spawnService(['--port', '0', '--data-dir', this.#options.dataDir], {
      WELLHEAD_ADMIN_TOKEN: adminToken,
      WELLHEAD_LOG_LEVEL: 'warn',
      ...enginePatience,
      ...this.#options.environment,
    })
  }

  #ready(): Promise<string> {
    const url = this.#process.ready(patienceMs)
    // Whoever calls hears of it; until then nobody may be there.
    url.catch(() => {})
    return url
  }

  get dataDir(): string {
    return this.#options.dataDir
  }

  get pid(): number {
    return this.#process.child.pid as number
  }

  /** Undefined while there is none. */
  get enginePid(): number | undefined {
    return isAlive(this.pid) ? childrenOf(this.pid)[0] : undefined
  }

  /** Resolves when the service that runs now serves calls. */
  url(): Promise<string> {
    return this.#url
  }

  /** The last of what it said and wrote down. */
  words(): string {
    return `${this.#process.stderr().slice(-1000)}\n${this.#process.stdout().slice(-3000)}`
  }

  /** A call with the admin token, which waits for a service that is being started. */
  call = async (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch((await this.#url) + path, { ...init, headers: { 'X-API-KEY': adminToken, ...init.headers } })

  async json<T>(path: string, init?: RequestInit): Promise<T> {
    const response = await this.call(path, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text.slice(0, 500)}`)
    return JSON.parse(text) as T
  }

  /** Ends the service as hard as can be, and resolves when it is gone. Its engine goes with it; callers wait. */
  async kill(): Promise<void> {
    const { enginePid } = this
    this.#url = new Promise((resolve) => {
      this.#callersWait = resolve
    })
    this.#process.child.kill('SIGKILL')
    await this.#process.exit
    while (enginePid !== undefined && isAlive(enginePid))
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  /** Starts it after its end. */
  start(): void {
    this.#process = this.#spawn()
    this.#url = this.#ready()
    this.#callersWait?.(this.#url)
  }

  close(): Promise<void> {
    return this.kill()
  }
}

/** A service on a directory below this one that serves calls. */
export async function openTarget(
  directory: string,
  environment: Record<string, string> = {},
): Promise<Target> {
  const target = new Target({ dataDir: join(directory, 'data'), environment })
  try {
    await target.url()
  } catch (error) {
    await target.kill()
    throw error
  }
  return target
}
