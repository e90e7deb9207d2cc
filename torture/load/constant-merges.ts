import { askEngine } from '../../test/support/ask-engine.ts'
import { natively } from '../../test/support/engines.ts'

interface MergerOptions {
  dataDir: string
  stopped: () => boolean
  pauseMs?: number | undefined
}

const usualPauseMs = natively(20, 100)

/** Merges all parts of the loaded source again and again, so that most faults fall into a merge. Returns how often. */
export async function mergeUntilStopped({
  dataDir,
  stopped,
  pauseMs = usualPauseMs,
}: MergerOptions): Promise<number> {
  let merges = 0
  while (!stopped()) {
    // Fails while the engine is away.
    await askEngine(dataDir, 'OPTIMIZE TABLE wellhead.edge_logs FINAL').then(
      () => merges++,
      () => {},
    )
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return merges
}
