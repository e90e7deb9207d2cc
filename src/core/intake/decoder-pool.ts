import { Worker } from 'node:worker_threads'
import { engineUnavailable, internal, invalidBody, rateLimited, tooLarge } from '../base/errors.ts'
import { packageFile } from '../base/package-file.ts'
import { type DecodeJob, decodeBody } from './decode-body.ts'
import type { WorkerReply, WorkerTask } from './decoder-worker.ts'
import type { EntryBatch } from './entry-batch.ts'
import { Lines } from './lines.ts'

interface DecoderPoolOptions {
  maxWorkers: number
  /** Maximum number of bodies that wait for a worker; further requests get 429. */
  maxWaiting: number
  /** Of one sender, so that others find room. */
  maxWaitingPerSender: number
  /** A worker that needs more memory fails its own request only. */
  maxHeapMiB: number
}

/** Smaller bodies are decoded on the main thread, because handing them to a worker takes longer. */
export const maxInlineBytes = 4 * 1024

interface Task {
  body: Buffer
  job: DecodeJob
  resolve: (batches: EntryBatch[]) => void
  reject: (error: unknown) => void
}

/**
 * Decodes bodies; large ones on worker threads, so that other requests do not wait for them. Bodies wait in one line per
 * sender, and the lines take turns.
 */
export class DecoderPool {
  readonly #options: DecoderPoolOptions
  readonly #workers = new Map<Worker, Task | undefined>()
  readonly #lines = new Map<string, Task[]>()
  #waiting = 0
  #stopped = false

  constructor(options: DecoderPoolOptions) {
    this.#options = options
  }

  /** The body must be the whole of its memory, which moves to a worker. */
  async decode(body: Buffer, job: DecodeJob, sender: string): Promise<EntryBatch[]> {
    if (body.length <= maxInlineBytes) return decodeBody(body, job)
    const { maxWaiting, maxWaitingPerSender } = this.#options
    const line = this.#lines.get(sender) ?? []
    if (this.#stopped || this.#waiting >= maxWaiting || line.length >= maxWaitingPerSender) {
      throw rateLimited('Too many request bodies are being read. Send this request again later.', 1)
    }
    return new Promise((resolve, reject) => {
      line.push({ body, job, resolve, reject })
      this.#lines.set(sender, line)
      this.#waiting++
      this.#assign()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const { reject } of [...this.#lines.values()].flat())
      reject(engineUnavailable('The service is stopping.'))
    this.#lines.clear()
    this.#waiting = 0
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()))
  }

  #assign(): void {
    while (this.#waiting > 0 && !this.#stopped) {
      const worker = this.#idleWorker() ?? this.#newWorker()
      if (worker === undefined) return
      const task = this.#next()
      this.#workers.set(worker, task)
      const body = task.body.buffer as ArrayBuffer
      worker.ref()
      worker.postMessage({ body, job: task.job } satisfies WorkerTask, [body])
    }
  }

  /** The first body of the line whose turn it is. The line goes to the end. */
  #next(): Task {
    const [sender, line] = this.#lines.entries().next().value as [string, Task[]]
    this.#lines.delete(sender)
    if (line.length > 1) this.#lines.set(sender, line)
    this.#waiting--
    return line.shift() as Task
  }

  #idleWorker(): Worker | undefined {
    for (const [worker, task] of this.#workers) if (task === undefined) return worker
    return undefined
  }

  #newWorker(): Worker | undefined {
    const { maxWorkers, maxHeapMiB } = this.#options
    if (this.#workers.size >= maxWorkers) return undefined
    const worker = new Worker(packageFile('dist/decoder.js'), {
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    })
    let failure: unknown = new Error('The worker ended.')
    worker.on('message', (reply: WorkerReply) => this.#settle(worker, reply))
    worker.on('error', (error) => {
      failure = error
    })
    worker.on('exit', () => {
      const task = this.#workers.get(worker)
      this.#workers.delete(worker)
      task?.reject(internal(failure))
      this.#assign()
    })
    return worker
  }

  #settle(worker: Worker, reply: WorkerReply): void {
    const task = this.#workers.get(worker)
    this.#workers.set(worker, undefined)
    // An idle worker does not keep the process alive.
    worker.unref()
    if ('batches' in reply) task?.resolve(reply.batches.map(revive))
    else task?.reject((reply.code === tooLarge.code ? tooLarge : invalidBody)(reply.message))
    this.#assign()
  }
}

/** Messages between threads lose their classes. */
function revive(batch: EntryBatch): EntryBatch {
  const { lines, quarantine } = batch
  return {
    ...batch,
    lines: new Lines(lines.bytes, lines.ends),
    quarantine: new Lines(quarantine.bytes, quarantine.ends),
  }
}
