import { Dialog } from '../ui/dialog.tsx'
import { commandKey } from './use-shortcuts.ts'

const shortcuts = [
  [[commandKey, 'K'], 'Go to a page, an endpoint or a source, or start an action'],
  [['/'], 'Search on this page'],
  [['?'], 'Show this list'],
  [[commandKey, 'Enter'], 'Run the query'],
  [['Tab'], 'Accept the first completion in the editor or the search'],
  [['↑', '↓'], 'Choose a completion, or move through a list'],
  [['J', 'K'], 'Move through entries, which Enter opens and Esc closes'],
  [['←', '→'], 'Move through the points of a chart'],
  [['Esc'], 'Close a list or a dialog'],
] as const

export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog close="Close" title="Keyboard shortcuts" onClose={onClose}>
      <dl className="shortcuts">
        {shortcuts.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
