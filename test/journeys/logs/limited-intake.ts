import fastify, { type FastifyInstance } from 'fastify'
import { type Caller, callerWith } from '../../../src/core/access/caller.ts'
import { Arrivals } from '../../../src/core/base/arrivals.ts'
import { sourceNotFound } from '../../../src/core/base/errors.ts'
import type { Source } from '../../../src/core/catalog/source.ts'
import { handleError } from '../../../src/core/http/error-response.ts'
import { addLogRoutes } from '../../../src/core/http/routes/logs/logs.ts'
import { addOtlpRoutes } from '../../../src/core/http/routes/logs/otlp.ts'
import { listRoutes } from '../../../src/core/http/routes/route.ts'
import { EntryStore } from '../../../src/core/intake/entry-store.ts'
import { IdempotencyKeys } from '../../../src/core/intake/idempotency.ts'
import { DiskGuard } from '../../../src/core/intake/intake-limits.ts'
import { LogIntake } from '../../../src/core/intake/log-intake.ts'
import { ProjectGate } from '../../../src/core/intake/project-gate.ts'
import { SourceRules } from '../../../src/core/intake/rules/source-rules.ts'
import { type ManualClock, manualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'

export interface LimitedIntake {
  url: string
  intake: LogIntake
  clock: ManualClock
  arrivals: Arrivals
  close(): Promise<void>
}

export interface IntakeChoices {
  maxPendingBytes?: number
  freeBytes?: () => number
  caller?: () => Caller
  /** Called when entries are on disk, before their sender gets a response. */
  onStored?: () => void
}

/** The intake over HTTP on the engine of a running service, with limits that a test can reach. */
export async function openLimitedIntake(
  { engine, call }: RunningService,
  choices: IntakeChoices = {},
): Promise<LimitedIntake> {
  const clock = manualClock(Date.now())
  const sources = (await (await call('/api/sources')).json()) as Source[]
  const find = (name: string) => sources.find((source) => [source.name, ...source.aliases].includes(name))
  const get = (name: string) => {
    const source = find(name)
    if (!source) throw sourceNotFound(name)
    return source
  }
  const arrivals = new Arrivals()
  const maxPendingBytes = choices.maxPendingBytes ?? 2 ** 20
  const disk = new DiskGuard({
    freeBytes: choices.freeBytes ?? (() => undefined),
    freeInodes: () => undefined,
    reserveBytes: 1_000,
    clock,
  })
  const admission = {
    notKept: new Set<number>(),
    over: new Set<number>(),
    counts: {},
    stored: () => {},
    release: () => {},
  }
  const pending = { begin: () => {}, end: () => {} }
  const tail = { publish: choices.onStored ?? (() => {}) }
  const intake = new LogIntake({
    store: new EntryStore({
      engine,
      disk,
      arrivals,
      tail,
      admit: async () => admission,
      pending,
      maxPendingBytes,
      attempts: 2,
    }),
    sources: { named: find, get, list: () => sources },
    rules: new SourceRules([]),
    keys: new IdempotencyKeys(engine, clock),
    gate: new ProjectGate(),
    disk,
    clock,
    maxBodyBytes: maxPendingBytes,
    maxReaders: 1,
  })
  const server: FastifyInstance = fastify()
  server.setErrorHandler(handleError)
  server.decorateRequest('caller', undefined)
  const caller = choices.caller ?? (() => sender('test'))
  server.addHook('onRequest', async (request) => {
    request.caller = caller()
  })
  listRoutes(server)
  addLogRoutes(server, { intake })
  addOtlpRoutes(server, { intake })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  return {
    url,
    intake,
    clock,
    arrivals,
    close: async () => {
      await server.close()
      await intake.stop()
    },
  }
}

export function sender(id: string, choices: { scopes?: string[]; project?: string } = {}): Caller {
  const { scopes = ['ingest'], project = null } = choices
  return callerWith({ id, scopes, project, parameters: {} })
}
