import { emulated } from '../../test/support/engines.ts'

/** Longest wait for anything. It is long because an emulated engine may hang while it starts and be restarted. */
export const patienceMs = 300_000

/** Multiplier of the service's engine timeouts. For an emulated engine it is as low as a busy machine allows. */
export const engineTimeoutFactor: Record<string, string> = emulated ? { WELLHEAD_ENGINE_PATIENCE: '4' } : {}
