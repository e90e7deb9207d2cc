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

/** Decodes bodies; large ones on worker threads, so that other requests do not wait for them. */
export class DecoderPool {
  readonly #options: DecoderPoolOptions
  readonly #workers = new Map<Worker, Task | undefined>()
  readonly #waiting: Task[] = []
  #stopped = false

  constructor(options: DecoderPoolOptions) {
    this.#options = options
  }

  /** The body must be the whole of its memory, which moves to a worker. */
  async decode(body: Buffer, job: DecodeJob): Promise<EntryBatch[]> {
    if (body.length <= maxInlineBytes) return decodeBody(body, job)
    if (this.#stopped || this.#waiting.length >= this.#options.maxWaiting) {
      throw rateLimited('Too many request bodies are being read. Send this request again later.', 1)
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, job, resolve, reject })
      this.#assign()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const { reject } of this.#waiting.splice(0)) reject(engineUnavailable('The service is stopping.'))
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()))
  }

  #assign(): void {
    while (this.#waiting.length > 0 && !this.#stopped) {
      const worker = this.#idleWorker() ?? this.#newWorker()
      if (worker === undefined) return
      const task = this.#waiting.shift() as Task
      this.#workers.set(worker, task)
      const body = task.body.buffer as ArrayBuffer
      worker.ref()
      worker.postMessage({ body, job: task.job } satisfies WorkerTask, [body])
    }
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
