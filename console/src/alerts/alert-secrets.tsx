import type { Alert } from '../api/shapes.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog } from '../ui/dialog.tsx'

export const secretsOf = ({ notify }: Alert) => notify.filter(({ secret }) => secret !== undefined)

/** Shows the secrets that saving an alert created. */
export function AlertSecrets({ saved, onClose }: { saved: Alert; onClose: () => void }) {
  return (
    <Dialog title={`Secrets of ${saved.name}`} onClose={onClose}>
      <p>Receivers verify notifications with these secrets. Copy them now; they are shown only once.</p>
      {secretsOf(saved).map(({ url, secret = '' }) => (
        <div className="stack" key={url}>
          <p className="faint">{url}</p>
          <p className="secret">{secret}</p>
          <CopyButton text={secret} label="Copy secret" />
        </div>
      ))}
      <div className="dialog-foot">
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
