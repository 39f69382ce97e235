/** Types of the rows of the APIs, each from its JSON Schema in rows/: endpoints return them, and
 *  the console imports them. Money is in units of the currency as a decimal text,
 *  unless a specification has it as a number. Times are ISO 8601 in UTC. */
export type * from './rows/accounts.ts'
export type * from './rows/calls.ts'
export type * from './rows/configuration.ts'
export type * from './rows/models.ts'
export type * from './rows/money.ts'
export type * from './rows/operations.ts'
export type * from './rows/requests.ts'
export type * from './rows/upstreams.ts'
export type * from './rows/usage.ts'
export type * from './rows/work.ts'
