/** Changes of a user or a group by PATCH, with bodies as the documentation of Entra ID and Okta has
 *  them, and filters of lists. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { checkSection } from '../../../plugins/scim/check-section.ts'
import {
  type Attributes,
  GROUP,
  type Resource,
  readResource,
  USER,
} from '../../../plugins/scim-protocol/attributes.ts'
import { patch, readFilter } from '../../../plugins/scim-protocol/patch.ts'

const OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const CORE = 'urn:ietf:params:scim:schemas:core:2.0:User'
const user: Resource = {
  userName: 'ann@x.test',
  active: true,
  displayName: 'Ann',
  name: { formatted: 'Ann Old', familyName: 'Old', givenName: 'Ann' },
  emails: [{ value: 'ann@x.test', type: 'work', primary: true }],
}
const apply = (operations: Json, resource: Resource = user, attributes: Attributes = USER) =>
  patch(resource, { schemas: [OP], Operations: operations }, attributes)

t.test('SCIM patch: an operation reads only the members that it names', async t => {
  let reads = 0
  const counting = {
    get value() {
      reads++
      return 'first'
    },
  }
  const ids = Array.from({ length: 600 }, (_, index) => `${index}`)
  const added = ids.map(value => ({ op: 'add', path: 'members', value: [{ value }] }))
  const removed = ids.slice(0, 400).map(id => ({ op: 'remove', path: `members[value eq "${id}"]` }))
  const group = { displayName: 'All', members: [counting] as never }
  const { members } = apply([...added, ...removed], group, GROUP)
  t.ok(reads < 5, `${reads} reads of another member`)
  t.same(members, [{ value: 'first' }, ...ids.slice(400).map(value => ({ value }))])
})

t.test('SCIM patch: items keep their order, and values have no case', async t => {
  const changed = apply([
    { op: 'add', path: 'emails', value: [{ value: 'b@x.test', type: 'home' }] },
    { op: 'replace', path: 'emails[type eq "WORK"].value', value: 'c@x.test' },
    { op: 'add', path: 'emails', value: [{ value: 'd@x.test' }, { type: 'other' }] },
    { op: 'remove', path: 'emails', value: [{ value: 'D@x.test' }] },
    { op: 'replace', path: 'emails[value eq "B@x.test"].type', value: 'other' },
  ])
  t.same(changed.emails, [
    { value: 'c@x.test', type: 'work', primary: true },
    { value: 'b@x.test', type: 'other' },
    { type: 'other' },
  ])
  t.same(apply([{ op: 'remove', path: 'emails' }]).emails, [])
})

t.test('SCIM patch: users as Entra ID changes them', async t => {
  const changed = apply([
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'new@x.test' },
    { op: 'Replace', path: 'name.familyName', value: 'New' },
    { op: 'Replace', path: 'userName', value: 'ann2@x.test' },
    { op: 'Add', path: 'externalId', value: 'e-1' },
    { op: 'Add', path: `${CORE}:displayName`, value: 'Ann N' },
    { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Sales' },
    { op: 'Add', path: 'phoneNumbers[type eq "work"].value', value: '1' },
    { op: 'Add', path: 'name.honorificPrefix', value: 'Dr' },
  ])
  t.same(changed, {
    userName: 'ann2@x.test',
    externalId: 'e-1',
    active: true,
    displayName: 'Ann N',
    name: { formatted: 'Ann Old', familyName: 'New', givenName: 'Ann' },
    emails: [{ value: 'new@x.test', type: 'work', primary: true }],
  })
  for (const value of [false, 'False', 'false'])
    t.equal(apply([{ op: 'Replace', path: 'active', value }]).active, false)
  for (const value of [true, 'True'])
    t.equal(apply([{ op: 'Add', path: 'active', value }]).active, true)
  const bare = { userName: 'bob' }
  const added = apply(
    [{ op: 'Add', path: 'emails[type eq "work"].value', value: 'b@x.test' }],
    bare,
  )
  t.same(added.emails, [{ type: 'work', value: 'b@x.test' }])
  const flat = { 'name.givenName': 'Bob', active: 'False', [`${ENTERPRISE}:department`]: 'x' }
  t.same(apply([{ op: 'Replace', value: flat }], bare), {
    userName: 'bob',
    name: { givenName: 'Bob' },
    active: false,
  })
  t.same(apply([{ op: 'Remove', path: 'emails[type eq "work"]' }]).emails, [])
  t.same(apply([{ op: 'Remove', path: 'displayName' }]).displayName, undefined)
  t.same(apply([{ op: 'Remove', path: 'name.givenName' }]).name, {
    formatted: 'Ann Old',
    familyName: 'Old',
  })
})

t.test('SCIM patch: groups as Entra ID and Okta change them', async t => {
  const group: Resource = {
    displayName: 'Staff',
    members: [{ value: '1' }, { value: '2', display: 'Bob' }],
  }
  const idsAfter = (...operations: Json[]) =>
    (apply(operations, group, GROUP).members as readonly { value: string }[]).map(
      each => each.value,
    )
  t.same(idsAfter({ op: 'Add', path: 'members', value: [{ $ref: null, value: '3' }] }), [
    '1',
    '2',
    '3',
  ])
  t.same(idsAfter({ op: 'add', path: 'members', value: { value: '2' } }), ['1', '2'])
  t.same(idsAfter({ op: 'Remove', path: 'members', value: [{ $ref: null, value: '1' }] }), ['2'])
  t.same(idsAfter({ op: 'Remove', path: 'members' }), [])
  t.same(
    idsAfter(
      { op: 'remove', path: 'members[value eq "2"]' },
      { op: 'add', path: 'members', value: [{ value: '4', display: 'd@x.test' }] },
    ),
    ['1', '4'],
  )
  t.same(idsAfter({ op: 'replace', path: 'members', value: [{ value: '8' }, { value: '9' }] }), [
    '8',
    '9',
  ])
  const renamed = [{ op: 'replace', value: { id: '7', displayName: 'People' } }]
  t.equal(apply(renamed, group, GROUP).displayName, 'People')
})

t.test('SCIM patch: an invalid operation is refused with a code', async t => {
  const refused = (operations: Json, code: string) =>
    t.throws(() => apply(operations), { code, status: 400 }, JSON.stringify(operations))
  refused([], 'SCIM_SYNTAX')
  refused('x', 'SCIM_SYNTAX')
  refused([{ op: 'move', path: 'active', value: 1 }], 'SCIM_SYNTAX')
  refused([{ op: 'remove' }], 'SCIM_TARGET')
  refused([{ op: 'replace', value: 'x' }], 'SCIM_VALUE')
  refused([{ op: 'replace', path: 'active' }], 'SCIM_VALUE')
  refused([{ op: 'replace', path: 'active', value: 'maybe' }], 'SCIM_VALUE')
  refused([{ op: 'replace', path: 'userName', value: ['a'] }], 'SCIM_VALUE')
  refused([{ op: 'replace', path: 'userName', value: 'a'.repeat(257) }], 'SCIM_VALUE')
  refused([{ op: 'replace', path: 'name', value: 'Ann' }], 'SCIM_VALUE')
  for (const path of [
    'emails[type eq "work"',
    'emails[type ne "work"]',
    'emails[nothing eq "x"].value',
    'emails.value',
    'userName[value eq "x"]',
    'a b',
    '__proto__[x eq "y"].z.w',
    7,
  ])
    refused([{ op: 'replace', path, value: 'x' }], 'SCIM_PATH')
  t.same(apply([{ op: 'add', path: '__proto__', value: { active: false } }]), user)
  t.throws(() => readResource([], USER), { code: 'SCIM_SYNTAX' })
})

t.test('SCIM filter: one comparison with a text', async t => {
  const names = ['userName', 'externalId']
  t.same(readFilter('userName eq "a\\"b"', names), { name: 'userName', value: 'a"b' })
  t.same(readFilter('USERNAME EQ "a"', names), { name: 'userName', value: 'a' })
  t.same(readFilter(`${CORE}:externalId eq "1"`, names), { name: 'externalId', value: '1' })
  for (const filter of [
    '',
    'userName',
    'userName co "a"',
    'id eq "1"',
    'userName eq "a" or x',
    'x',
  ])
    t.throws(() => readFilter(filter, names), { code: 'SCIM_FILTER', status: 400 })
})

t.test('SCIM section: what cannot work is a problem', async t => {
  const problems = (document: object): readonly string[] => {
    const codes: string[] = []
    checkSection(document as never, (path, code) => void codes.push([...path, code].join(' ')))
    return codes
  }
  const routes = [{ path: 'GET /scim/v2/Users', scim: 'Users' }]
  const scim = { token: 'x'.repeat(20), account: 'acme' }
  t.same(problems({ scim, routes }), [])
  t.same(problems({ routes: [] }), [], 'without the section')
  t.same(problems({ scim, routes: [] }), ['scim SCIM_OPTION'], 'no route')
  t.same(problems({ scim: { token: scim.token }, routes }), ['scim SCIM_OPTION'], 'no team')
  const accounts = { token: scim.token, accounts: { Staff: 'acme' } }
  t.same(problems({ scim: accounts, routes, identity: { member: 'email' } }), [])
  t.same(problems({ scim, routes, identity: {} }), ['identity SCIM_OPTION'], 'no member')
  t.same(problems({ scim, routes, identity: { member: 'email', create: 'accounts' } }), [
    'identity create SCIM_OPTION',
  ])
})
