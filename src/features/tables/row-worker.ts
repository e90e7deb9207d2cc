import { parentPort, workerData } from 'node:worker_threads'
import { WellheadError } from '../../core/base/errors.ts'
import { showSourcePositions } from '../../core/base/source-positions.ts'
import type { TableColumn } from '../../shared/column-types.ts'
import { type RowChunk, RowReading, type RowSummary } from './row-reading.ts'
import type { RowForm } from './table-rows.ts'

export interface RowWorkerData {
  body: ArrayBuffer
  form: RowForm
  chunkLength: number
}

export type RowTask =
  | { kind: 'summary'; erasedProjects: ReadonlySet<string> }
  | { kind: 'next'; columns: readonly TableColumn[] }

/** `refused`: the message for the sender of the rows. */
export type RowReply = RowSummary | RowChunk | { refused: string }

showSourcePositions()

let reading: RowReading | undefined

parentPort?.on('message', (task: RowTask) => {
  const reply = replyTo(task)
  parentPort?.postMessage(reply, 'lines' in reply ? [reply.lines.buffer] : [])
})

/** Any other error ends the worker, and its reader reports it. */
function replyTo(task: RowTask): RowReply {
  try {
    const { body, form, chunkLength } = workerData as RowWorkerData
    reading ??= new RowReading(Buffer.from(body), form, chunkLength)
    return task.kind === 'summary' ? reading.summary(task.erasedProjects) : reading.next(task.columns)
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    return { refused: error.message }
  }
}
