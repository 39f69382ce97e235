/** The dialogs of the page Team: invite, edit and remove a member, and its sign-in link. */
import type { MemberView } from '../../../views.ts'
import { OperationDialog } from '../operation-dialog.tsx'
import { Notice } from '../parts/form.tsx'
import { toast } from '../parts/toast.tsx'
import { Secret } from '../parts/values.tsx'
import { text } from '../texts.ts'

export type Open =
  | { readonly kind: 'invite' }
  | { readonly kind: 'edit' | 'link' | 'remove'; readonly member: MemberView }
  | { readonly kind: 'linked'; readonly name: string; readonly url: string }

interface TeamDialogProps {
  readonly open: Open
  onClose(): void
  onDone(next?: Open): void
}
export const TeamDialog = ({ open, onClose, onDone }: TeamDialogProps) => {
  if (open.kind === 'linked')
    return (
      <Notice title={text('team.link.title', { name: open.name })} onClose={onClose}>
        <Secret value={open.url} help={text('team.link.once')} />
      </Notice>
    )
  const onLink = ({ name, url }: { readonly name: string; readonly url: string }) =>
    onDone({ kind: 'linked', name, url })
  if (open.kind === 'invite')
    return (
      <OperationDialog
        of="invite-member"
        title={text('team.invite')}
        note={text('team.invite.help')}
        initial={{ role: 'member' }}
        help={{ role: text('team.role.help') }}
        submit={text('team.invite')}
        onClose={onClose}
        onDone={onLink}
      />
    )
  return <MemberDialog {...{ ...open, onClose, onDone, onLink }} />
}

interface MemberDialogProps extends Omit<TeamDialogProps, 'open'> {
  readonly kind: 'edit' | 'link' | 'remove'
  readonly member: MemberView
  onLink(linked: { readonly name: string; readonly url: string }): void
}
const MemberDialog = ({ kind, member, onClose, onDone, onLink }: MemberDialogProps) => {
  const { id, name } = member
  if (kind === 'link')
    return (
      <OperationDialog
        of="link-member"
        fixed={{ id }}
        title={text('team.link.title', { name })}
        help={text('team.invite.help')}
        submit={text('team.link')}
        onClose={onClose}
        onDone={onLink}
      />
    )
  return kind === 'edit' ? (
    <OperationDialog
      of="update-member"
      fixed={{ id }}
      edited={member}
      title={text('team.edit.title', { name })}
      help={{ role: text('team.role.help') }}
      submit={text('save')}
      onClose={onClose}
      onDone={() => {
        toast(text('saved'))
        onDone()
      }}
    />
  ) : (
    <OperationDialog
      of="remove-member"
      fixed={{ id }}
      title={text('team.remove.title', { name })}
      help={text('team.remove.help')}
      submit={text('team.remove')}
      onClose={onClose}
      onDone={() => {
        toast(text('team.removed', { name }))
        onDone()
      }}
    />
  )
}
