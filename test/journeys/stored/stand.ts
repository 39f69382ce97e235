/** One stand of stored responses, for all journeys of this folder. */
import t from 'tap'
import { startStored } from '../../helpers/stored.ts'

export const { upstream, mine, other, rows, sent } = await startStored(t)
t.beforeEach(() => upstream.forget())
