import { describeEngine } from './support/engine-behaviour.ts'
import { openEmbedded } from './support/engines.ts'

describeEngine('the embedded engine', () => openEmbedded())
