import { useState } from 'react'
import { SchemaBrowser } from '../../schema/schema-browser.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { HistoryList } from './history-list.tsx'
import type { useQueryHistory } from './query-history.ts'
import type { Question } from './question.ts'

const panels = [
  ['schema', 'Schema'],
  ['history', 'History'],
] as const

interface SidePanelProps {
  isOpen: boolean
  onToggle: () => void
  history: ReturnType<typeof useQueryHistory>
  onChoose: (question: Question) => void
  onInsert: (name: string) => void
}

/** The names that a query can use, and the queries that were run. */
export function SidePanel({ isOpen, onToggle, history, onChoose, onInsert }: SidePanelProps) {
  const [panel, setPanel] = useState<(typeof panels)[number][0]>('schema')
  return (
    <aside className="stack" aria-label="Schema and history">
      <div className="tabs-line">
        {isOpen && <Choices label="Show" options={panels} value={panel} onChange={setPanel} />}
        <Button look="small" aria-expanded={isOpen} onClick={onToggle}>
          {isOpen ? 'Hide' : 'Schema and history'}
        </Button>
      </div>
      <div hidden={!isOpen || panel !== 'schema'}>
        <SchemaBrowser onInsert={onInsert} />
      </div>
      {isOpen && panel === 'history' && <HistoryList history={history} onChoose={onChoose} />}
    </aside>
  )
}
