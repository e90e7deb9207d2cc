import { isolationUnverified } from '../base/errors.ts'
import type { Engine } from './engine.ts'

/** Throws while a server shows tenants the rows of others. */
export function requireIsolation(engine: Pick<Engine, 'state'>): void {
  const { leak } = engine.state()
  if (leak !== undefined) throw isolationUnverified(leak)
}
