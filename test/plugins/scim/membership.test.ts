/** Members that users of SCIM become without `roles:`: the team decides about the role of a member
 *  that comes back, and the number of an earlier member gives no rights. */
import t from 'tap'
import { migrations as actionTables } from '../../../plugins/action-log/tables.ts'
import { addMember, MEMBER_BY_ID, removeMember } from '../../../plugins/credentials/members.ts'
import { createAccount } from '../../../plugins/credentials/statements.ts'
import { migrations as accountTables } from '../../../plugins/credentials/tables.ts'
import { Changes } from '../../../plugins/scim/changes.ts'
import { membershipStatements } from '../../../plugins/scim/membership.ts'
import { create, remove } from '../../../plugins/scim/resources.ts'
import { addRow, migrations } from '../../../plugins/scim/tables.ts'
import { fakeExchange } from '../../helpers/gateway/fake-exchange.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { startBoth } from '../../helpers/store/store.ts'

const PLACE = { account: 'acme', name: 'bob', role: 'member' } as const
const RULES = { member: 'userName', account: 'acme', role: 'member', operators: false } as const
const OWNER = { id: 1, account: 1, name: 'bob', role: 'owner', removed: null } as const

for (const { engine, database } of await startBoth(t, accountTables))
  t.test(`members of users without roles on ${engine}`, async t => {
    await database.migrate('scim', migrations)
    await database.write(createAccount({ name: 'acme', role: 'customer' }, 1))
    const row = { id: 900, kind: 'user', key: 'bob', externalId: null, attributes: '{}' } as const
    await database.write([addRow(row, 1), ...addMember(1, { name: 'bob', role: 'owner' }, 1)])
    const removed = () => database.write(removeMember(OWNER, 2))
    /** The role after a user that was this member, or none, has entered. */
    const enter = async (member: number | null) => {
      const store = { database, rules: RULES, record: async () => {} } as never
      const user = { id: 900, resource: { userName: 'bob' }, member }
      await database.write(await membershipStatements(store, user, PLACE, 3))
      return (await database.read(MEMBER_BY_ID, [1]))[0]
    }
    await removed()
    t.match(await enter(1), { role: 'owner', removed: null }, 'the same user comes back')
    await removed()
    t.match(await enter(null), { role: 'member', removed: null }, 'another user of its name')

    await database.migrate('actions', actionTables)
    const rules = { member: 'email', accounts: { Lab: 'acme' }, role: 'member', operators: false }
    const changes = new Changes(hostOver(database) as never, rules as never, fakeExchange({}))
    const users = await Promise.all(
      ['a', 'b'].map(userName =>
        create(changes, 'user', { userName, emails: [{ value: 'eve@x.test' }] }),
      ),
    )
    const members = users.map(id => ({ value: String(id) }))
    await t.rejects(create(changes, 'group', { displayName: 'Lab', members }), {
      code: 'SCIM_EXISTS',
      status: 409,
    })
    await create(changes, 'group', { displayName: 'Lab', members: members.slice(1) })

    let reads = 0
    const counted = {
      read: (...input: Parameters<typeof database.read>) => {
        reads++
        return database.read(...input)
      },
      write: (...input: Parameters<typeof database.write>) => database.write(...input),
      now: () => database.now(),
    } as typeof database
    const counting = new Changes(hostOver(counted) as never, rules as never, fakeExchange({}))
    /** Reads by which a group of so many users begins and ends. */
    const readsOf = async (displayName: string, count: number) => {
      const ids: number[] = []
      for (let index = 0; index < count; index++) {
        const userName = `${displayName}-${index}`
        ids.push(
          await create(changes, 'user', { userName, emails: [{ value: `${userName}@x.test` }] }),
        )
      }
      reads = 0
      const list = ids.map(id => ({ value: String(id) }))
      const group = await create(counting, 'group', { displayName, members: list })
      await remove(counting, 'group', String(group))
      return reads
    }
    t.equal(await readsOf('many', 12), await readsOf('few', 2), 'one read for all users')
    const unknown = { displayName: 'odd', members: [{ value: '99999' }] }
    await t.rejects(create(counting, 'group', unknown), { code: 'SCIM_UNKNOWN' })
  })
