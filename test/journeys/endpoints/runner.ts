import { type Clock, systemClock, systemTime } from '../../../src/core/base/clock.ts'
import { EndpointRunner } from '../../../src/core/endpoints/call/endpoint-runner.ts'
import { QueryQueue } from '../../../src/core/endpoints/call/query-queue.ts'
import type { Engine } from '../../../src/core/engine/engine.ts'

/** Runs endpoints on an engine, without the service around it. */
export function openRunner(engine: Engine, clock: Clock, sources: Iterable<string>): EndpointRunner {
  return new EndpointRunner({
    engine,
    hidden: () => undefined,
    queue: new QueryQueue({
      maxRunning: 4,
      maxWaitingPerCaller: 10,
      maxWaiting: 10,
      maxWaitMs: 60_000,
      maxBackgroundWaitMs: 60_000,
      time: systemTime(systemClock),
    }),
    clock,
    maxMemoryBytes: 2 ** 30,
    maxThreads: 1,
    sources: () => sources,
    tables: () => new Map(),
  })
}
