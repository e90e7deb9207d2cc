import { executionAsyncResource } from 'node:async_hooks'

const kept: object[] = []

/**
 * Keeps what one call of `process.nextTick` created, for good. V8 knows these objects by a shape that it forgets when it
 * collects garbage while none of them exists; in Node 20 each later call then takes five times as long, and a request makes
 * several. See docs/decisions/0012-cached-calls.md.
 */
export function keepTickShape(): void {
  process.nextTick(() => kept.push(executionAsyncResource()))
}
