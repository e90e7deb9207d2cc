import type { Timers } from '../../core/base/clock.ts'
import type { Log } from '../../core/base/log.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import type { Items } from '../../core/catalog/items.ts'
import type { EndpointCalls } from '../../core/endpoints/call/endpoint-calls.ts'
import type { Endpoints } from '../../core/endpoints/manage/endpoints.ts'
import type { Engine } from '../../core/engine/engine.ts'
import type { SavedAlert } from './alert.ts'
import type { Mailer } from './mailer.ts'
import type { WebhookSecrets } from './secrets.ts'
import type { TargetRules } from './target.ts'

/** What evaluating, delivering and managing alerts have in common. */
export interface AlertParts {
  engine: Engine
  catalog: Catalog
  endpoints: Endpoints
  alerts: Items<SavedAlert>
  calls: EndpointCalls
  /** Queries that the engine runs at a time. */
  engineSlots: number
  secrets: WebhookSecrets
  rules: TargetRules
  /** Undefined: no email can be sent. */
  mailer: Mailer | undefined
  /** Origin of the console, for links to it. */
  publicUrl: string | undefined
  time: Timers
  log: Log
  /** Stores entries of the source of alerts. */
  storeEvents: (lines: Buffer, token: string) => Promise<void>
  onEvaluated: (result: 'ok' | 'failed', lateMs: number) => void
}
