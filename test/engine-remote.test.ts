import { describeEngine } from './support/engine-behaviour.ts'
import { openRemote } from './support/engines.ts'

describeEngine('a ClickHouse server', openRemote)
