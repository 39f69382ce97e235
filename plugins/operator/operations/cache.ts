/** The operations on the cache of answers. The plugin `cache` does the work. */
import { object, text } from '../../../engine/config/shape.ts'
import { findAccount } from '../../credentials/find.ts'
import { CACHE_COLUMNS, PURGE_COLUMNS } from '../../rows/operations.ts'
import { object as row } from '../../shapes.ts'
import { ANY_ACCOUNT } from '../arguments.ts'
import { partOf } from '../contributions.ts'
import { type Operation, operation } from '../operation.ts'

const show = operation({
  name: 'cache show',
  summary: 'Shows how many answers the cache has in the store, and their bytes.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {}),
  result: row(CACHE_COLUMNS),
  command: {
    example: 'tollgate cache show',
  },
  run: async ({ host }) => ({ data: await partOf(host, 'cache').show(host) }),
})

const purge = operation({
  name: 'cache purge',
  summary: 'Removes answers from the cache: all, or those of a model or an account.',
  scope: 'operator',
  arguments: object(undefined, {
    account: ANY_ACCOUNT,
    model: text('A key of `models:`.', { maxLength: 256, examples: ['gp-4.1'] }),
  }),
  result: row(PURGE_COLUMNS),
  command: {
    example: 'tollgate cache purge --model gp-4.1-mini',
    options: {
      account: { type: 'string', value: 'NAME', summary: 'only answers of this account' },
      model: { type: 'string', value: 'MODEL', summary: 'only answers of this key of `models:`' },
    },
  },
  async run(context, { account: nameOrId, model }) {
    const part = partOf(context.host, 'cache')
    const account =
      nameOrId === undefined
        ? undefined
        : (await findAccount(context.store, nameOrId, { isDeletedToo: true })).id
    return { data: await part.purge(context, account, model) }
  },
})

/** In the order of the help. */
export const cacheOperations: readonly Operation[] = [show, purge]
