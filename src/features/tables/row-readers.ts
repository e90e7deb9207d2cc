import { Worker } from 'node:worker_threads'
import { internal, invalidBody, queryCancelled, tooLarge } from '../../core/base/errors.ts'
import { packageFile } from '../../core/base/package-file.ts'
import type { TableColumn } from '../../shared/column-types.ts'
import { type RowChunk, RowReading, type RowSummary } from './row-reading.ts'
import type { RowReply, RowTask, RowWorkerData } from './row-worker.ts'
import type { RowForm } from './table-rows.ts'

interface RowReadersOptions {
  /** Further bodies wait. */
  maxWorkers: number
  /** A worker that needs more memory fails its own request only. */
  maxHeapMiB: number
  /** For all rows once, or for the next chunk. */
  maxStepMs: number
}

export interface RowBody {
  /** The whole of its memory, which moves to a worker unless the body is small. */
  bytes: Buffer
  form: RowForm
}

export interface RowReader {
  summary(erasedProjects: ReadonlySet<string>): Promise<RowSummary>
  next(columns: readonly TableColumn[]): Promise<RowChunk>
}

/** Smaller bodies are read on the main thread, which takes at most some milliseconds. */
export const maxInlineBytes = 16 * 1024

/** Short, because other requests wait for it. */
const inlineChunkLength = 256 * 1024
/** Of one insert. */
const workerChunkLength = 16 * 2 ** 20

const tooMuchMemory = () =>
  tooLarge('Reading the rows takes too much memory. Send fewer rows or shorter values.')
const tooSlow = (ms: number) =>
  tooLarge(`Reading the rows took longer than ${ms / 1000} s. Send fewer rows or columns.`)
const cancelled = () => queryCancelled('The client disconnected, so the rows were not replaced.')

/** Reads rows of tables; large bodies each on a worker thread of its own, so that other requests do not wait for them. */
export class RowReaders {
  readonly #options: RowReadersOptions
  #running = 0
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>()

  constructor(options: RowReadersOptions) {
    this.#options = options
  }

  /** The reader ends with the work. */
  async read<T>(
    { bytes, form }: RowBody,
    signal: AbortSignal,
    work: (reader: RowReader) => Promise<T>,
  ): Promise<T> {
    if (signal.aborted) throw cancelled()
    if (bytes.length <= maxInlineBytes) {
      const reading = new RowReading(bytes, form, inlineChunkLength)
      return work({
        summary: async (erasedProjects) => reading.summary(erasedProjects),
        next: async (columns) => reading.next(columns),
      })
    }
    await this.#enter(signal)
    const reader = this.#start({ bytes, form }, signal)
    try {
      return await work(reader)
    } finally {
      await reader.end()
    }
  }

  #start({ bytes, form }: RowBody, signal: AbortSignal): WorkerReader {
    try {
      const body = bytes.buffer as ArrayBuffer
      const reader = new WorkerReader({ body, form, chunkLength: workerChunkLength }, signal, this.#options)
      void reader.ended.then(() => this.#leave())
      return reader
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    if (this.#running < this.#options.maxWorkers) {
      this.#running++
      return
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.#waiting.delete(enter)
        reject(cancelled())
      }
      this.#waiting.add(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** The next one takes the place, if there is one. */
  #leave(): void {
    const [next] = this.#waiting
    if (!next) {
      this.#running--
      return
    }
    this.#waiting.delete(next)
    next()
  }
}

class WorkerReader implements RowReader {
  readonly #worker: Worker
  readonly #maxStepMs: number
  readonly #failed: Promise<never>
  #fail: (error: unknown) => void = () => {}
  readonly ended: Promise<void>

  constructor(
    workerData: RowWorkerData,
    signal: AbortSignal,
    { maxHeapMiB, maxStepMs }: Omit<RowReadersOptions, 'maxWorkers'>,
  ) {
    this.#maxStepMs = maxStepMs
    this.#failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    // It may fail while nobody waits for it.
    this.#failed.catch(() => {})
    const worker = new Worker(packageFile('dist/row-reader.js'), {
      workerData,
      transferList: [workerData.body],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    })
    this.#worker = worker
    const stop = () => this.#fail(cancelled())
    signal.addEventListener('abort', stop, { once: true })
    worker.on('error', (error: NodeJS.ErrnoException) => {
      this.#fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory() : internal(error))
    })
    this.ended = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#fail(internal(new Error('The worker ended.')))
        signal.removeEventListener('abort', stop)
        resolve()
      })
    })
  }

  summary(erasedProjects: ReadonlySet<string>): Promise<RowSummary> {
    return this.#ask<RowSummary>({ kind: 'summary', erasedProjects })
  }

  async next(columns: readonly TableColumn[]): Promise<RowChunk> {
    const chunk = await this.#ask<RowChunk>({ kind: 'next', columns })
    // Another body can be read while the engine does the rest.
    if ('digest' in chunk) await this.end()
    return chunk
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  async #ask<T extends RowReply>(task: RowTask): Promise<T> {
    const timer = setTimeout(() => this.#fail(tooSlow(this.#maxStepMs)), this.#maxStepMs)
    try {
      const replied = new Promise<T | { refused: string }>((resolve) => {
        this.#worker.once('message', resolve)
      })
      this.#worker.postMessage(task)
      const reply = await Promise.race([replied, this.#failed])
      if ('refused' in reply) throw invalidBody(reply.refused)
      return reply
    } finally {
      clearTimeout(timer)
    }
  }
}
