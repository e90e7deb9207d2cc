import { type ReactNode, useState } from 'react'

interface BuiltInProps {
  count: number
  /** Whether there is data; undefined until it is known. */
  isFilled: boolean | undefined
  children: ReactNode
}

/** A group that is folded while it is empty, unless the user opened it. */
export function BuiltIn({ count, isFilled = true, children }: BuiltInProps) {
  const [chosen, setChosen] = useState<boolean>()
  const isOpen = chosen ?? isFilled
  if (count === 0) return null
  return (
    <details
      className="built-in"
      open={isOpen}
      // The event also follows a change of the attribute, which is not a choice.
      onToggle={({ currentTarget: { open } }) => open !== isOpen && setChosen(open)}
    >
      <summary>
        Built-in <span className="faint">{count}</span>
      </summary>
      {children}
    </details>
  )
}
