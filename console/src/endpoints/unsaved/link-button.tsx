import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { count } from '../../ui/text/format.ts'
import type { Question } from './question.ts'
import { fragmentOf, maxLinkLength } from './question-link.ts'

/** Copies a link that opens the query with its values. */
export function LinkButton({ question }: { question: Question }) {
  const [wasTooLong, setTooLong] = useState(false)
  const fragment = fragmentOf(question)
  if (fragment !== undefined) {
    return <CopyButton label="Copy link" text={`${location.origin}/console/playground${fragment}`} />
  }
  return (
    <>
      {wasTooLong && (
        <span className="badge bad verdict" role="alert">
          The query is too long for a link. A link has at most {count(maxLinkLength)} characters.
        </span>
      )}
      <Button look="small" onClick={() => setTooLong(true)} icon="copy">
        Copy link
      </Button>
    </>
  )
}
