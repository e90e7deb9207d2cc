import { parentPort } from 'node:worker_threads'
import { WellheadError } from '../base/errors.ts'
import { type ReadingJob, readBody } from './reading.ts'
import type { ReadEntries } from './source-reading.ts'

export interface WorkerTask {
  pieces: Uint8Array[]
  job: ReadingJob
}

export type WorkerReply = { read: ReadEntries[] } | { code: string; message: string }

parentPort?.on('message', ({ pieces, job }: WorkerTask) => {
  const reply = replyTo(pieces, job)
  const moved = 'read' in reply ? reply.read.flatMap(buffersOf) : []
  parentPort?.postMessage(reply, moved)
})

/** Anything else that is thrown ends the worker, and is reported as its error. */
function replyTo(pieces: Uint8Array[], job: ReadingJob): WorkerReply {
  try {
    return { read: readBody(pieces, job) }
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    return { code: error.code, message: error.message }
  }
}

function buffersOf({ lines, quarantine, indices, rejected }: ReadEntries): ArrayBuffer[] {
  const arrays = [lines.bytes, lines.ends, quarantine.bytes, quarantine.ends, indices, rejected]
  return arrays.map(({ buffer }) => buffer as ArrayBuffer)
}
