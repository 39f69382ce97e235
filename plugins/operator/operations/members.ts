/** Operations on the members of a team. A team is an account: who signs in or calls as a member has
 *  the rights of his role. */
import { textOf, UsageError } from '../../../engine/cli/kit.ts'
import { object, ofTypes, oneOf, reading, required } from '../../../engine/config/shape.ts'
import type { CommandArguments } from '../../../engine/plugin.ts'
import { findAccount } from '../../credentials/find.ts'
import { nameOf, tagsOf } from '../../credentials/input.ts'
import {
  addMember,
  fault,
  findMember,
  giveLinkToMember,
  LIST_MEMBERS,
  onlySelf,
  removeMember,
  requireOwner,
  updateMember,
} from '../../credentials/members.ts'
import { makeSignInLink } from '../../credentials/sign-in-link.ts'
import type { Rotated } from '../../credentials/statements.ts'
import { MEMBER_COLUMNS, ROLES, SIGN_IN_LINK } from '../../rows/accounts.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import type { MemberRole } from '../../slots.ts'
import type { MemberView } from '../../views.ts'
import {
  ACCOUNT,
  ACCOUNT_NAME,
  CURSOR,
  LIMIT,
  nullable,
  refuseNumber,
  tagList,
} from '../arguments.ts'
import { queryFault } from '../faults.ts'
import { type Context, type Operation, operation } from '../operation.ts'
import { isoTime, pageOf, rowReader, whenCode } from '../rows.ts'
import { issueLink } from './sign-in-links.ts'

export const MEMBER = reading(
  ofTypes('Name or number of a member of the team.', ['string', 'integer'], { maxLength: 64 }),
  String,
)
const ROLE = oneOf('What he may do in the team.', ROLES)
const TAGS = nullable(tagList('His'))

const accountIn = async ({ own, store }: Context, nameOrId: string): Promise<number> =>
  own ?? (await findAccount(store, nameOrId)).id
const viewOf = rowReader(MEMBER_COLUMNS, ({ account_name: account }) => ({
  account: String(account),
}))
/** Throws MEMBER_UNKNOWN. */
export const memberIn = async ({ store }: Context, account: number, nameOrId: string) =>
  viewOf(await findMember(store, account, nameOrId))
const whenExists = (name: string) => whenCode('MEMBER_EXISTS', () => fault('MEMBER_EXISTS', [name]))
const whenChanged = whenCode('MEMBER_CHANGED', () => fault('MEMBER_CHANGED'))

/** The member that a credential is for; null: the account itself; undefined: unchanged. Only owners
 *  and admins name another than themselves, and admins no owner for a system token. */
export const chosenMember = async (
  context: Context,
  account: number,
  kind: Rotated,
  named: string | null | undefined,
): Promise<number | null | undefined> => {
  if (named === undefined) return undefined
  const { member } = context
  const { id, role } =
    named === null ? { id: null, role: null } : await memberIn(context, account, named)
  if (member && member.id !== id) {
    if (onlySelf(member) !== undefined) throw fault('MEMBER_OWNER')
    if (kind === 'system-token') requireOwner(member, role)
  }
  return id
}
/** `none`: the account itself. */
export const memberOption = ({ member }: CommandArguments['values']) => {
  const name = textOf(member)
  return name === undefined ? {} : { member: name === 'none' ? null : name }
}

const roleIn = ({ role }: CommandArguments['values']): MemberRole | undefined => {
  const word = textOf(role)
  const known = ROLES.find(each => each === word)
  if (word !== undefined && !known)
    throw new UsageError(`--role must be one of ${ROLES.join(', ')}`)
  return known
}

/** `none` removes them. Without the option: nothing. */
const tagsIn = ({ tags }: CommandArguments['values']): { readonly tags?: string | null } => {
  const list = textOf(tags)
  if (list === undefined) return {}
  return { tags: list === 'none' ? null : tagsOf(list, '--tags') }
}
const TAGS_OPTION = {
  type: 'string',
  value: 'TAGS',
  summary: 'tags of his calls: project=alpha,feature=a; none removes them',
} as const

const changeOf = ({ name, role, tags }: Pick<MemberView, 'name' | 'role' | 'tags'>) => ({
  name,
  role,
  tags,
})
const ONE = object(undefined, { account: ACCOUNT, member: required(MEMBER) })
const own = (verb: string) => [{ view: `${verb}-member`, inPath: 'member' }]

export const membersList = operation({
  name: 'members list',
  summary: 'Lists the members of a team with their roles.',
  scope: 'both',
  reads: true,
  arguments: object(undefined, { account: ACCOUNT, limit: LIMIT, cursor: CURSOR }),
  result: listOf(row(MEMBER_COLUMNS)),
  own: [{ view: 'list-members' }],
  command: {
    arguments: 'ACCOUNT',
    example: 'tollgate members list acme',
    read: ({ positionals: [account = ''] }) => ({ account, limit: 1_000 }),
    print: members => ({
      rows: members.map(({ account: _, ...cells }) => cells),
      json: members,
    }),
  },
  async run(context, { account: nameOrId, limit = 100, cursor = '0' }) {
    if (!/^\d{1,15}$/.test(cursor)) throw queryFault('cursor', '`next` of the page before')
    const account = await accountIn(context, nameOrId)
    const rows = await context.store.read(LIST_MEMBERS, [account, Number(cursor), limit + 1])
    return pageOf(rows, limit, viewOf)
  },
})

const membersInvite = operation({
  name: 'members invite',
  summary: 'Adds a member to a team and makes a link that signs him in once, within 24 hours.',
  scope: 'both',
  arguments: object(undefined, {
    account: ACCOUNT,
    name: required(ACCOUNT_NAME),
    role: required(ROLE),
    tags: TAGS,
  }),
  showsSecret: true,
  result: row({ ...MEMBER_COLUMNS, ...SIGN_IN_LINK }),
  own: [{ view: 'invite-member', status: 201 }],
  command: {
    arguments: 'ACCOUNT NAME',
    example: 'tollgate members invite acme bob --role member',
    options: {
      role: { type: 'string', value: 'ROLE', summary: `${ROLES.join(', ')}; member by default` },
      tags: TAGS_OPTION,
    },
    read: ({ positionals: [account = '', name = ''], values }) => ({
      account,
      name: nameOf(name, 'The name of the member'),
      role: roleIn(values) ?? 'member',
      ...tagsIn(values),
    }),
  },
  async run(context, { account: nameOrId, name, role, tags = null }) {
    const { host, store, actor, now, member } = context
    refuseNumber(name)
    requireOwner(member, role)
    const account = await accountIn(context, nameOrId)
    const { url, expires, digest, statements } = makeSignInLink(host, {
      account,
      issuer: actor.name,
      now,
    })
    const list = [
      ...addMember(account, { name, role, tags }, now),
      ...statements,
      giveLinkToMember(digest, account, name),
    ]
    await store
      .change(list, {
        object: `member of account ${account}`,
        before: null,
        after: { name, role, tags, link: isoTime(expires) },
      })
      .catch(whenExists(name))
    const added = await memberIn(context, account, name)
    return { data: { ...added, url, expires: isoTime(expires) } }
  },
})
const storeLink = (context: Context, account: number, { id: member, name }: MemberView) =>
  issueLink(context, { account, member }, { object: `member ${member}`, link: name })

const membersLink = operation({
  name: 'members link',
  summary: 'Makes another link that signs a member in once, within 24 hours.',
  scope: 'both',
  arguments: ONE,
  showsSecret: true,
  result: row({ ...MEMBER_COLUMNS, ...SIGN_IN_LINK }),
  own: own('link'),
  command: {
    arguments: 'ACCOUNT NAME',
    example: 'tollgate members link acme bob',
  },
  async run(context, { account: nameOrId, member: named }) {
    const account = await accountIn(context, nameOrId)
    const target = await memberIn(context, account, named)
    requireOwner(context.member, target.role)
    return { data: { ...target, ...(await storeLink(context, account, target)) } }
  },
})

const membersUpdate = operation({
  name: 'members update',
  summary: 'Changes the name, the role or the tags of a member, at once.',
  scope: 'both',
  arguments: object(undefined, {
    account: ACCOUNT,
    member: required(MEMBER),
    name: ACCOUNT_NAME,
    role: ROLE,
    tags: TAGS,
  }),
  result: row(MEMBER_COLUMNS),
  own: own('update'),
  command: {
    arguments: 'ACCOUNT NAME',
    example: 'tollgate members update acme bob --role admin',
    options: {
      name: { type: 'string', value: 'NAME', summary: 'another name' },
      role: { type: 'string', value: 'ROLE', summary: ROLES.join(', ') },
      tags: TAGS_OPTION,
    },
    read: ({ positionals: [account = '', member = ''], values }) => {
      const [name, role] = [textOf(values.name), roleIn(values)]
      return {
        account,
        member,
        ...(name !== undefined && { name: nameOf(name, '--name') }),
        ...(role !== undefined && { role }),
        ...tagsIn(values),
      }
    },
  },
  async run(context, { account: nameOrId, member: named, name, role, tags }) {
    const account = await accountIn(context, nameOrId)
    const before = await memberIn(context, account, named)
    requireOwner(context.member, before.role)
    if (role !== undefined) requireOwner(context.member, role)
    if (name !== undefined) refuseNumber(name)
    const after = {
      name: name ?? before.name,
      role: role ?? before.role,
      tags: tags === undefined ? before.tags : tags,
    }
    await context.store
      .change(updateMember({ ...before, account }, after), {
        object: `member ${before.id}`,
        before: changeOf(before),
        after,
      })
      .catch(whenExists(after.name))
      .catch(whenChanged)
    return { data: await memberIn(context, account, String(before.id)) }
  },
})

const membersRemove = operation({
  name: 'members remove',
  summary: 'Removes a member: his keys, tokens and sessions end; his calls stay in the ledger.',
  scope: 'both',
  arguments: ONE,
  result: row(MEMBER_COLUMNS),
  own: own('remove'),
  command: {
    arguments: 'ACCOUNT NAME',
    example: 'tollgate members remove acme bob',
  },
  async run(context, { account: nameOrId, member: named }) {
    const { store, now } = context
    const account = await accountIn(context, nameOrId)
    const target = await memberIn(context, account, named)
    requireOwner(context.member, target.role)
    await store
      .change(removeMember({ ...target, account }, now), {
        object: `member ${target.id}`,
        before: changeOf(target),
        after: { state: 'removed' },
      })
      .catch(whenChanged)
    return { data: target }
  },
})

export const memberOperations: readonly Operation[] = [
  membersList,
  membersInvite,
  membersLink,
  membersUpdate,
  membersRemove,
]
