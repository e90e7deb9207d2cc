import { Worker } from 'node:worker_threads'
import { engineUnavailable, internal, invalidBody, rateLimited, tooLarge } from '../base/errors.ts'
import { Lines } from './lines.ts'
import type { SentBody } from './log-body.ts'
import { type ReadingJob, readBody } from './reading.ts'
import type { WorkerReply, WorkerTask } from './reading-worker.ts'
import type { ReadEntries } from './source-reading.ts'

export interface ReadingPoolOptions {
  maxWorkers: number
  /** Bodies that may wait for a worker; beyond them senders are told to wait. */
  maxWaiting: number
  /** Memory of a worker. One that needs more fails its request, and nothing else. */
  maxHeapMiB: number
}

/** Smaller bodies are read at once: handing them over would take longer. They are small, since thousands of rejected entries fit into few bytes. */
export const maxInlineBytes = 4 * 1024

const workerFile = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/intake/reading-worker.js' : './reading-worker.js',
  import.meta.url,
)

interface Task {
  body: SentBody
  job: ReadingJob
  resolve: (read: ReadEntries[]) => void
  reject: (error: unknown) => void
}

/** Reads bodies; large ones on threads of their own, so that nobody waits while a long body is read. */
export class ReadingPool {
  readonly #options: ReadingPoolOptions
  /** With the task that each of them works on. */
  readonly #workers = new Map<Worker, Task | undefined>()
  readonly #waiting: Task[] = []
  #stopped = false

  constructor(options: ReadingPoolOptions) {
    this.#options = options
  }

  async read(body: SentBody, job: ReadingJob): Promise<ReadEntries[]> {
    if (body.length <= maxInlineBytes) return readBody(body.pieces(), job)
    if (this.#stopped || this.#waiting.length >= this.#options.maxWaiting) {
      throw rateLimited('More logs arrive than can be read at the moment.', 1)
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, job, resolve, reject })
      this.#next()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const { reject } of this.#waiting.splice(0)) reject(engineUnavailable('The service is stopping.'))
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()))
  }

  #next(): void {
    while (this.#waiting.length > 0 && !this.#stopped) {
      const worker = this.#idle() ?? this.#started()
      if (worker === undefined) return
      const task = this.#waiting.shift() as Task
      this.#workers.set(worker, task)
      const pieces = task.body.pieces()
      worker.ref()
      worker.postMessage(
        { pieces, job: task.job } satisfies WorkerTask,
        pieces.map(({ buffer }) => buffer as ArrayBuffer),
      )
    }
  }

  #idle(): Worker | undefined {
    for (const [worker, task] of this.#workers) if (task === undefined) return worker
    return undefined
  }

  #started(): Worker | undefined {
    const { maxWorkers, maxHeapMiB } = this.#options
    if (this.#workers.size >= maxWorkers) return undefined
    const worker = new Worker(workerFile, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB } })
    let failure: unknown = new Error('The worker ended.')
    worker.on('message', (reply: WorkerReply) => this.#answered(worker, reply))
    worker.on('error', (error) => {
      failure = error
    })
    worker.on('exit', () => {
      const task = this.#workers.get(worker)
      this.#workers.delete(worker)
      task?.reject(internal(failure))
      this.#next()
    })
    return worker
  }

  #answered(worker: Worker, reply: WorkerReply): void {
    const task = this.#workers.get(worker)
    this.#workers.set(worker, undefined)
    // An idle worker does not keep the process alive.
    worker.unref()
    if ('read' in reply) task?.resolve(reply.read.map(revived))
    else task?.reject((reply.code === tooLarge.code ? tooLarge : invalidBody)(reply.message))
    this.#next()
  }
}

/** Classes do not survive the way between threads. */
function revived(read: ReadEntries): ReadEntries {
  const { lines, quarantine } = read
  return {
    ...read,
    lines: new Lines(lines.bytes, lines.ends),
    quarantine: new Lines(quarantine.bytes, quarantine.ends),
  }
}
