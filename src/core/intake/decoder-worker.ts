import { parentPort } from 'node:worker_threads'
import { WellheadError } from '../base/errors.ts'
import { showSourcePositions } from '../base/source-positions.ts'
import { type DecodeJob, decodeBody } from './decode-body.ts'
import type { EntryBatch } from './entry-batch.ts'

export interface WorkerTask {
  body: ArrayBuffer
  job: DecodeJob
}

export type WorkerReply = { batches: EntryBatch[] } | { code: string; message: string }

showSourcePositions()

parentPort?.on('message', ({ body, job }: WorkerTask) => {
  const reply = decode(Buffer.from(body), job)
  parentPort?.postMessage(reply, 'batches' in reply ? reply.batches.flatMap(buffersOf) : [])
})

/** Any other error ends the worker, and the pool reports it. */
function decode(body: Buffer, job: DecodeJob): WorkerReply {
  try {
    return { batches: decodeBody(body, job) }
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    return { code: error.code, message: error.message }
  }
}

function buffersOf({ lines, quarantine, indices }: EntryBatch): ArrayBuffer[] {
  const arrays = [lines.bytes, lines.ends, quarantine.bytes, quarantine.ends, indices]
  return arrays.map(({ buffer }) => buffer as ArrayBuffer)
}
