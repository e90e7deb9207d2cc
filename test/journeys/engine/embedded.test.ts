import { openEmbedded } from '../../support/engines.ts'
import { describeEngine } from './behaviour.ts'
import { describeOfficialClient } from './official-client.ts'

describeEngine(
  'the embedded engine',
  () => openEmbedded(),
  (opened) => describeOfficialClient(() => opened().dataDir),
)
