import { openEmbedded } from '../../support/engines.ts'
import { describeEngine } from './behaviour.ts'

describeEngine('the embedded engine', () => openEmbedded())
