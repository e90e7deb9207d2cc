import { openEngine } from '../../support/engines.ts'
import { describeEngine } from '../engine/behaviour.ts'
import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(async () => describeEngine('a given ClickHouse server', openEngine))
