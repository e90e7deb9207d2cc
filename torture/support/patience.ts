import { emulated } from '../../test/support/engines.ts'

/** After so long, what did not happen will not happen: an emulated engine may hang at its start and be started anew. */
export const patienceMs = 300_000

/** What the service waits for its engine, where it is emulated: as short as a busy machine allows. */
export const enginePatience: Record<string, string> = emulated ? { WELLHEAD_ENGINE_PATIENCE: '4' } : {}
