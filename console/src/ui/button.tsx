import { type ComponentProps, type ReactNode, useRef, useState } from 'react'
import { Icon, type IconName } from './icon.tsx'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className'> {
  /** Such as `primary small`; `link` looks like text. */
  look?: string
  icon?: IconName
}

export function Button({ look = '', icon, type = 'button', children, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} className={look.startsWith('link') ? look : `button ${look}`.trim()}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

interface MenuProps {
  label: string
  className?: string
  /** Buttons. */
  children: ReactNode
}

/** Buttons that are shown on demand. Choosing one, Escape or moving the focus elsewhere closes it. */
export function Menu({ label, className = '', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys and the focus are those of the buttons
    <div
      className="menu"
      onBlur={({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && setOpen(false)}
      onKeyDown={({ key }) => key === 'Escape' && isOpen && close()}
    >
      <button
        ref={button}
        type="button"
        className={`button ${className}`}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
        <Icon name="open" />
      </button>
      {/* It can have the focus, because some browsers do not focus a clicked button. It closes before the button acts, so
      that a dialog returns the focus to the menu. */}
      <div className={isOpen ? 'menu-list' : 'menu-list closed'} tabIndex={-1} onClickCapture={close}>
        {children}
      </div>
    </div>
  )
}
