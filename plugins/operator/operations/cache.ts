/** The operations on the cache of answers. The plugin `cache` does the work. */

import { textOf } from '../../../engine/cli/kit.ts'
import { object, text } from '../../../engine/config/shape.ts'
import type { HostBase } from '../../../engine/plugin.ts'
import { findAccount } from '../../credentials/find.ts'
import { CACHE_COLUMNS, PURGE_COLUMNS } from '../../rows/operations.ts'
import { object as row } from '../../shapes.ts'
import { ANY_ACCOUNT } from '../arguments.ts'
import { type CachePart, operatorParts } from '../contributions.ts'
import { fault } from '../faults.ts'
import { type Operation, operation } from '../operation.ts'
import { singleRow } from '../rows.ts'

const partOf = (host: HostBase): CachePart => {
  const { cache } = operatorParts(host)
  if (!cache) throw fault('ADMIN_NO_CACHE')
  return cache
}

const show = operation({
  name: 'cache show',
  summary: 'Shows how many answers the cache has in the store, and their bytes.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {}),
  result: row(CACHE_COLUMNS),
  command: {
    example: 'tollgate cache show',
    read: () => ({}),
    print: data => singleRow(data),
  },
  run: async ({ host }) => ({ data: await partOf(host).show(host) }),
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
    read: ({ values }) => {
      const [account, model] = [textOf(values.account), textOf(values.model)]
      return { ...(account !== undefined && { account }), ...(model !== undefined && { model }) }
    },
    print: data => singleRow(data),
  },
  async run(context, { account: nameOrId, model }) {
    const part = partOf(context.host)
    const account =
      nameOrId === undefined
        ? undefined
        : (await findAccount(context.store, nameOrId, { isDeletedToo: true })).id
    return { data: await part.purge(context, account, model) }
  },
})

/** In the order of the help. */
export const cacheOperations: readonly Operation[] = [show, purge]
