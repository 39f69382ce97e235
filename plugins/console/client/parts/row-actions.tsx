/** The actions of a row: buttons beside each other, or one that lists them where the screen is
 *  narrow. */
import { useState } from 'preact/hooks'
import { text } from '../texts.ts'
import { Dialog } from './form.tsx'
import type { Column } from './table.tsx'

interface RowAction {
  readonly label: string
  /** Of a download. */
  readonly href?: string
  readonly isDanger?: boolean
  run?(): void
}

/** The last column of a table. It stays visible while the columns before it scroll. */
export const actionColumn = <Row,>(
  nameOf: (row: Row) => string,
  actionsOf: (row: Row) => readonly RowAction[],
): Column<Row> => ({
  title: text('column.actions'),
  cell: row => <RowActions name={nameOf(row)} actions={actionsOf(row)} />,
  isActions: true,
})

interface RowActionsProps {
  readonly name: string
  readonly actions: readonly RowAction[]
}
const RowActions = ({ name, actions }: RowActionsProps) => {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  if (actions.length < 2) return <Buttons actions={actions} size="tiny" />
  return (
    <>
      <span class="row many">
        <Buttons actions={actions} size="tiny" />
      </span>
      <button
        type="button"
        class="button tiny few"
        aria-haspopup="dialog"
        aria-label={text('actions.of', { name })}
        onClick={() => setOpen(true)}
      >
        ⋯
      </button>
      {isOpen && (
        <Dialog title={name} onClose={close}>
          <div class="action-list">
            <Buttons actions={actions} onDone={close} />
            <button type="button" class="button" onClick={close}>
              {text('cancel')}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

interface ButtonsProps {
  readonly actions: readonly RowAction[]
  readonly size?: 'tiny'
  onDone?(): void
}
const Buttons = ({ actions, size, onDone }: ButtonsProps) => (
  <>
    {actions.map(({ label, href, isDanger = false, run }) => {
      const name = ['button', size, isDanger && 'danger'].filter(Boolean).join(' ')
      if (href)
        return (
          <a key={label} class={name} href={href} download onClick={onDone}>
            {label}
          </a>
        )
      const start = () => {
        onDone?.()
        run?.()
      }
      return (
        <button key={label} type="button" class={name} onClick={start}>
          {label}
        </button>
      )
    })}
  </>
)
