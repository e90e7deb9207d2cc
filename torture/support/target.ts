import { join } from 'node:path'
import { childrenOf, isAlive, type ServiceProcess, spawnService } from '../../test/support/service-process.ts'
import { engineTimeoutFactor, patienceMs } from './patience.ts'
import type { SharedResource } from './scenario.ts'

export interface TargetOptions {
  dataDir: string
  environment?: Record<string, string>
}

export const adminToken = 'a-token-for-the-torture-of-a-service'

/** A service in a separate process that can be killed and restarted while clients use it. */
export class Target implements SharedResource {
  readonly #options: TargetOptions
  #process: ServiceProcess
  #url: Promise<string>
  #resolveUrl: ((url: Promise<string>) => void) | undefined

  constructor(options: TargetOptions) {
    this.#options = options
    this.#process = this.#spawn()
    this.#url = this.#ready()
  }

  #spawn(): ServiceProcess {
    return spawnService(['--port', '0', '--data-dir', this.#options.dataDir], {
      WELLHEAD_ADMIN_TOKEN: adminToken,
      WELLHEAD_LOG_LEVEL: 'warn',
      ...engineTimeoutFactor,
      ...this.#options.environment,
    })
  }

  #ready(): Promise<string> {
    const url = this.#process.ready(patienceMs)
    // Whoever awaits the URL gets the error; this only avoids an unhandled rejection before that.
    url.catch(() => {})
    return url
  }

  get dataDir(): string {
    return this.#options.dataDir
  }

  get pid(): number {
    return this.#process.child.pid as number
  }

  /** Undefined while no engine runs. */
  get enginePid(): number | undefined {
    return isAlive(this.pid) ? childrenOf(this.pid)[0] : undefined
  }

  /** Resolves when the current process is ready. */
  url(): Promise<string> {
    return this.#url
  }

  /** End of its standard error and output. */
  output(): string {
    return `${this.#process.stderr().slice(-1000)}\n${this.#process.stdout().slice(-3000)}`
  }

  /** Sends a request with the admin token. Waits while the service starts. */
  call = async (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch((await this.#url) + path, { ...init, headers: { 'X-API-KEY': adminToken, ...init.headers } })

  async json<T>(path: string, init?: RequestInit): Promise<T> {
    const response = await this.call(path, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text.slice(0, 500)}`)
    return JSON.parse(text) as T
  }

  /** Sends SIGKILL and resolves when the service and its engine have ended. Requests wait until `start`. */
  async kill(): Promise<void> {
    const { enginePid } = this
    this.#url = new Promise((resolve) => {
      this.#resolveUrl = resolve
    })
    this.#process.child.kill('SIGKILL')
    await this.#process.exit
    while (enginePid !== undefined && isAlive(enginePid))
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  start(): void {
    this.#process = this.#spawn()
    this.#url = this.#ready()
    this.#resolveUrl?.(this.#url)
  }

  close(): Promise<void> {
    return this.kill()
  }
}

/** Starts a service with its data in `directory` and waits until it is ready. */
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
